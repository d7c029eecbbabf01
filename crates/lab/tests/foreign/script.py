import csv
for row in csv.reader(open("trace.csv")):
    print(row[0], row[1])
